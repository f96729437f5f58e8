"""Draw the curves of `examples.mappo` in this folder, one picture a game: ``python docs/games/draw_curves.py``."""

from __future__ import annotations

import csv
from pathlib import Path

from matplotlib.figure import Figure

FOLDER = Path(__file__).parent
PICTURES = {"rware-tiny-2ag-v2": "robotic_warehouse", "Foraging-8x8-2p-2f-coop-v3": "foraging"}
KINDS = {"native": ("here", "tab:blue"), "original": ("the original", "tab:orange")}


def main() -> None:
    """Write the pictures."""
    for name, picture in PICTURES.items():
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        for kind, (label, colour) in KINDS.items():
            for path in sorted((FOLDER / "curves").glob(f"{name}-{kind}-*.csv")):
                rows = list(csv.DictReader(path.open()))
                minutes = [float(row["seconds"]) / 60 for row in rows]
                seed = path.stem.rpartition("-")[2]
                axes.plot(minutes, [float(row["return"]) for row in rows], color=colour, label=label * (seed == "0"))
        axes.set(xlabel="minutes on one core", ylabel="return, summed over agents", title=name)
        axes.legend()
        figure.savefig(FOLDER / f"{picture}_curve.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
