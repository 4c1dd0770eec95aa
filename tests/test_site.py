"""docs/ as a site: it is made without a warning, every page is in its table of contents, and wrong links are seen. No Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sphinx.cmd.build import build_main

DOCS = Path(__file__).parents[1] / "docs"


def made(docs: Path, out: Path) -> int:
    """As `make site` makes it; the exit code."""
    return int(build_main(["-q", "-W", "--keep-going", "-b", "html", "-d", str(out / "doctrees"), str(docs), str(out / "site")]))


def test_the_site_is_made(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A page outside every table of contents would be a warning, as a link to no page or heading is."""
    assert made(DOCS, tmp_path) == 0, capfd.readouterr().err
    pages = {page.stem for page in (tmp_path / "site").glob("*.html")}
    assert pages >= {page.stem for page in DOCS.glob("*.md")}
    assert "Which question, which command" in (tmp_path / "site" / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("link", "works"), [("other.md#a-heading", True), ("other.md#no-such-heading", False), ("no_such_page.md", False)]
)
def test_a_link_to_nowhere_fails(tmp_path: Path, link: str, works: bool, capfd: pytest.CaptureFixture[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(DOCS / "conf.py", docs / "conf.py")
    (docs / "other.md").write_text("# Other\n\n## A heading\n")
    (docs / "index.md").write_text(f"# Index\n\n[a link]({link})\n\n```{{toctree}}\nother\n```\n")
    assert (made(docs, tmp_path) == 0) == works
    assert works or "myst.xref_missing" in capfd.readouterr().err
