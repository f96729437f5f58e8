"""Write an episode as one page for the browser, which needs no network and no other file."""

from multigrid.rendering.replay.page import replay_page

__all__ = ["replay_page"]
