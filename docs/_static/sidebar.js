"use strict";
// The list of pages is longer than most windows: show the part around this page.
{
  const list = document.querySelector(".sidebar-scroll");
  const here = list?.querySelector(".current-page");
  if (here) {
    const middle = here.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 2;
    list.scrollTo({ top: list.scrollTop + middle, behavior: "instant" });
  }
}
