"use strict";
// A replay says how high it is; its frame gets that height, so that nothing of it is cut.
addEventListener("message", ({ source, data }) => {
  for (const frame of document.querySelectorAll("iframe[srcdoc]"))
    if (frame.contentWindow === source && data.replayHeight > 0) frame.height = data.replayHeight;
});
