"""Write each block of Python that README has above its first heading into a file of its own, block_0.py and so on.

Usage: python .ci/first_screen.py FOLDER
"""

import re
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Write the blocks; exit with a sentence if there is none."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", readme.partition("\n## ")[0], flags=re.MULTILINE | re.DOTALL)
    if not blocks:
        sys.exit("README.md has no block of Python above its first heading")
    folder.mkdir(parents=True)
    for number, block in enumerate(blocks):
        (folder / f"block_{number}.py").write_text(block, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
