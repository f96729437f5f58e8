"""Print the notes of the release that multigrid/_version.py names: its section of CHANGELOG.md.

Exit with a sentence where CITATION.cff, codemeta.json, CHANGELOG.md, pyproject.toml or the tag disagree.

Usage: python .ci/release_notes.py [TAG]
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ("CITATION.cff", "codemeta.json", "pyproject.toml", "CHANGELOG.md")
# The fields of the Citation File Format 1.2.0 that every file has, and those that this one may have.
NEEDED = {"authors", "cff-version", "message", "title"}
KNOWN = NEEDED | {
    *("abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords", "license", "license-url"),
    *("preferred-citation", "references", "repository", "repository-artifact", "repository-code", "type", "url"),
    "version",
}
CODEMETA = {
    *("@context", "@type", "author", "codeRepository", "dateModified", "datePublished", "description", "identifier"),
    *("keywords", "license", "name", "operatingSystem", "programmingLanguage", "runtimePlatform"),
    *("softwareRequirements", "version"),
}


def read(name: str) -> str:
    """Return a file of the tree."""
    return (ROOT / name).read_text(encoding="utf-8")


def read_citation(text: str) -> dict[str, Any]:
    """Return the fields of CITATION.cff: texts, lists of texts, and authors with a name each."""
    # Not by a library: the machine that checks a tag has installed none.
    fields: dict[str, Any] = {}
    for line in filter(None, text.splitlines()):
        if item := re.fullmatch(r"  - (?:name: )?([^:]+)", line):
            fields[[*fields][-1]] = [*(fields[[*fields][-1]] or []), item[1]]
            continue
        field = re.fullmatch(r'([a-z-]+):(?: ("?)(.+)\2)?', line)
        if not field:
            sys.exit(f"CITATION.cff: cannot read {line!r}")
        fields[field[1]] = field[3]
    return fields


def find_mistakes(files: Mapping[str, str], version: str) -> list[str]:
    """Return what is wrong in the files of NAMES, which describe a version, a sentence each."""
    project, changelog = (files[name] for name in ("pyproject.toml", "CHANGELOG.md"))
    cited, described = read_citation(files["CITATION.cff"]), json.loads(files["codemeta.json"])
    released = re.findall(rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", changelog, re.MULTILINE)
    mistakes = [f"CITATION.cff has no {name}" for name in sorted(NEEDED - cited.keys())]
    mistakes += [f"CITATION.cff has {name}, which its format does not know" for name in sorted(cited.keys() - KNOWN)]
    mistakes += [f"codemeta.json has {name}, which is no term here" for name in sorted(described.keys() - CODEMETA)]
    if not released:
        mistakes.append(f"CHANGELOG.md has no section {version} with a date")
    (summary,) = re.findall(r'^description = "(.+)"$', project, re.MULTILINE)
    (python,) = re.findall(r'^requires-python = "(.+)"$', project, re.MULTILINE)
    (licence,) = re.findall(r'^license = "(.+)"$', project, re.MULTILINE)
    (authors,) = re.findall(r"^authors = \[(.+)\]$", project, re.MULTILINE)
    names = re.findall(r'name = "([^"]+)"', authors)
    there = {
        "CITATION.cff's cff-version": (cited.get("cff-version"), "1.2.0"),
        "CITATION.cff's version": (cited.get("version"), version),
        "CITATION.cff's date-released": (cited.get("date-released"), released[0] if released else None),
        "CITATION.cff's license": (cited.get("license"), licence),
        "CITATION.cff's authors": (cited.get("authors"), names),
        "codemeta.json's @type": (described.get("@type"), "SoftwareSourceCode"),
        "codemeta.json's version": (described.get("version"), version),
        "codemeta.json's datePublished": (described.get("datePublished"), cited.get("date-released")),
        "codemeta.json's description": (described.get("description"), summary),
        "codemeta.json's author": ([one.get("name") for one in described.get("author", [])], names),
        "codemeta.json's keywords": (described.get("keywords"), cited.get("keywords")),
        "codemeta.json's license": (str(described.get("license")).rpartition("/")[2], licence),
        "codemeta.json's runtimePlatform": (described.get("runtimePlatform"), f"Python {python}"),
    }
    wrong = [(name, *both) for name, both in there.items() if both[0] != both[1]]
    return mistakes + [f"{name} is {found!r}; expected {expected!r}" for name, found, expected in wrong]


def cut_notes(changelog: str, version: str) -> str:
    """Return a version's section of the changelog, without its heading."""
    after = re.split(rf"^## \[{re.escape(version)}\].*\n", changelog, maxsplit=1, flags=re.MULTILINE)[1]
    return re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0].strip() + "\n"


def main(tag: str | None = None) -> None:
    """Check the files of the tree, and a tag if there is one, and print the notes."""
    (version,) = re.findall(r'^__version__ = "(.+)"$', read("multigrid/_version.py"), re.MULTILINE)
    changelog = read("CHANGELOG.md")
    mistakes = find_mistakes({name: read(name) for name in NAMES}, version)
    if tag is not None:
        if tag != f"v{version}":
            mistakes.append(f"the tag is {tag}; expected v{version}, after multigrid/_version.py")
        unreleased = cut_notes(changelog, "Unreleased") if "\n## [Unreleased]" in changelog else "\n"
        if unreleased.strip():
            mistakes.append(f"CHANGELOG.md lists changes as unreleased; move them to the section {version}")
    if mistakes:
        sys.exit("\n".join(mistakes))
    sys.stdout.write(cut_notes(changelog, version))


if __name__ == "__main__":
    main(*sys.argv[1:])
