"""How the page looks, in light and in dark: colours have names, which charts and drawings use too."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "ink": "#1f2328", "soft": "#59636e", "paper": "#ffffff", "card": "#f6f8fa", "line": "#d1d9e0",
    "lost": "#c62828", "gone": "#c25e00", "short": "#3b76b5", "fault": "#b07800", "heat": "#2f7fd6", "hot": "#d1495b",
    "bar": "#dbe7f5",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "ink": "#e6edf3", "soft": "#9aa5b1", "paper": "#0d1117", "card": "#161b22", "line": "#3d444d",
    "lost": "#ff7b72", "gone": "#f0a35e", "short": "#79b8ff", "fault": "#e3b341", "heat": "#2f7fd6", "hot": "#d1495b",
    "bar": "#1d3550",
}  # fmt: skip

_DRAWN_DARK = {
    "#ffffff": "#161b22", "#fff": "#161b22", "#24292f": "#e6edf3", "#57606a": "#9aa5b1", "#5f6b76": "#9aa5b1",
    "#607d8b": "#8fa9b6", "#f6f8fa": "#21262d", "#8c959f": "#6e7681", "#c4ccd4": "#484f58", "#d8dde2": "#30363d",
    "#dff3e4": "#12381f", "#eee5fb": "#33235c", "#e8eff7": "#1b2b40", "#eceef0": "#2a2f36", "#f3f5f7": "#1c2128",
    "#fde7e7": "#4a1d1f", "#1a7f37": "#3fb950", "#8250df": "#b392f0", "#4f7cac": "#79b8ff", "#9aa0a6": "#8b949e",
    "#8a949e": "#8b949e", "#c62828": "#ff7b72", "#b35900": "#f0a35e", "#9a5b00": "#e3b341", "#6a1b9a": "#d2a8ff",
    "#00695c": "#56d4c2",
}  # fmt: skip
"""Colours of drawings made for white paper (emulator.explain, emulator.graphs), and what they are on dark paper."""

_RULES = """
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; max-width: 1180px;
  padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line);
  padding-bottom: .2rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
a { color: var(--short); } .soft { color: var(--soft); } .bad { color: var(--lost); font-weight: 600; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .8rem 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: .7rem; margin: 1rem 0; padding: 0; }
.cards li { list-style: none; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .8rem; }
.cards b { display: block; font-size: 1.35rem; font-weight: 600; } .cards .bad b { color: var(--lost); }
.cards .bad { font-weight: 400; color: inherit; } .cards span { color: var(--soft); font-size: .87rem; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; } th, td { border-bottom: 1px solid var(--line); padding: .22rem .45rem;
  text-align: left; vertical-align: top; }
#by-fault td { white-space: nowrap; }
th { font-weight: 600; background: var(--card); }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.bar { background: linear-gradient(to left, var(--bar) var(--share), transparent var(--share)); }
.chart svg { width: 100%; height: auto; display: block; } .chart svg text { fill: var(--ink); font-family: inherit !important; }
.drawing { overflow: auto; max-height: 80vh; border: 1px solid var(--line); border-radius: 8px; padding: 8px;
  background: var(--card); }
.drawing svg { display: block; } .whole svg { width: 100%; height: auto; } .whole { max-height: none; }
pre { overflow: auto; max-height: 60vh; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .7rem; font-size: .82rem; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; }
.legend svg { vertical-align: middle; display: inline; margin-right: .4rem; width: 26px; }
details { margin: 1rem 0; } summary { cursor: pointer; color: var(--soft); }
@media print { .drawing, pre { max-height: none; } .wide { overflow: visible; } table { font-size: .7rem; } }
""".strip()


def style() -> str:
    """Returns the page's style sheet."""
    drawn = "\n".join(
        f'  .drawing [fill="{light}"] {{ fill: {dark}; }} .drawing [stroke="{light}"] {{ stroke: {dark}; }}'
        for light, dark in _DRAWN_DARK.items()
    )
    dark = f"@media (prefers-color-scheme: dark) {{\n  :root {{ {_variables(DARK)} }}\n{drawn}\n}}"
    return f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n{_RULES}\n{dark}"


def _variables(colours: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
