"""The documents: links lead somewhere, pages are short, tables are what was kept, and every example is understood."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
LONGEST_PAGE = 250
POSEWIRE = Path(
    os.environ.get("POSEWIRE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/posewire")
).resolve()

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
Test = TypeVar("Test", bound=Callable[..., None])
# A flag as a document writes it: `--rate`, `--max-persons 1`, `--display png:FOLDER`.
QUOTED_FLAG = re.compile(r"`(--[a-z][a-z0-9-]*)[^`]*`")


def pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).exists()]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Headings as GitHub names them in links."""
    heads = re.findall(r"^#{1,6} (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def code_lines(page: Path) -> list[str]:
    """Lines of code blocks, those that end in a backslash joined with the next."""
    lines, fenced, carried = [], False, ""
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            carried += line.strip().removesuffix("\\")
            if not line.endswith("\\"):
                lines.append(carried)
                carried = ""
    return lines


def inline_code(page: Path) -> list[str]:
    return re.findall(r"`(posewire [^`]+)`", page.read_text())


def commands(text: str) -> list[list[str]]:
    """The `posewire …` commands of a line, without what a shell does round them."""
    found = []
    text = re.split(r"\s#\s|\s{2,}#", text)[0]
    for part in re.split(r"&&|\||;", text):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        while words and (words[0] in ("sudo", "exec") or re.fullmatch(r"[A-Z_]+=.*", words[0])):
            words = words[1:]
        if (
            words[:3] == ["cargo", "run", "--release"]
            and "--" in words
            and "--example" not in words
            and "-p" not in words
        ):
            words = ["posewire", *words[words.index("--") + 1 :]]
        if words and Path(words[0]).name == "posewire" and len(words) > 1:
            found.append([w for w in words[1:] if w not in ("…", "...")])
    return [c for c in found if c]


def ignored(path: str) -> bool:
    return subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0


@cache
def is_there(sub_command: str) -> bool:
    """`eval` is a program of its own, which a tree without its laboratory lacks."""
    if sub_command != "eval":
        return True
    there = POSEWIRE.with_name("posewire-lab").exists() or shutil.which("posewire-lab") is not None
    if not there:
        print("SKIPPED: examples of `posewire eval`: cargo build --release -p posewire-lab", file=sys.stderr)
    return there


@cache
def understood(*words: str) -> tuple[bool, str]:
    """Whether the program takes these words: `--help` behind them stops it before it does anything."""
    done = subprocess.run(
        [POSEWIRE, *words, "--help"], check=False, capture_output=True, text=True, timeout=30
    )
    return done.returncode == 0, done.stderr.strip()


@cache
def sub_commands() -> tuple[str, ...]:
    text = subprocess.run([POSEWIRE, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.MULTILINE)
    assert listed, "posewire --help lists no commands"
    return tuple(line.split()[0] for line in listed[1].splitlines() if re.match(r"  \S", line))


@cache
def flags() -> frozenset[str]:
    """Every flag of every sub-command, two levels down."""
    texts = [subprocess.run([POSEWIRE, "--help"], capture_output=True, text=True, check=True).stdout]
    for name in sub_commands():
        if name == "help" or not is_there(name):
            continue
        text = subprocess.run([POSEWIRE, name, "--help"], capture_output=True, text=True, check=True).stdout
        texts.append(text)
        nested = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.MULTILINE)
        for line in nested[1].splitlines() if nested else []:
            if re.match(r"  \S", line) and line.split()[0] != "help":
                done = subprocess.run(
                    [POSEWIRE, name, line.split()[0], "--help"], capture_output=True, text=True, check=True
                )
                texts.append(done.stdout)
    return frozenset(re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*)", "\n".join(texts)))


def needs_posewire(test: Test) -> Test:
    if POSEWIRE.exists():
        return test
    print(
        f"SKIPPED: {test.__name__}: no {POSEWIRE} (cargo build --release, or name one in POSEWIRE)",
        file=sys.stderr,
    )
    return unittest.skip("no posewire")(test)


class Documents(unittest.TestCase):
    def test_relative_links_lead_somewhere(self) -> None:
        broken = []
        for page in pages():
            for target in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                to = (page.parent / path).resolve() if path else page
                if not to.exists():
                    broken.append(f"{name_of(page)}: {target}: there is no such file")
                elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                    broken.append(f"{name_of(page)}: {target}: there is no such heading")
        self.assertEqual(broken, [])

    def test_paths_that_pages_name_exist(self) -> None:
        """`src/…`, `crates/…` and the like in quotes; what is built, ignored or given by the reader is no path of ours."""
        tops = "src|crates|vendor|tests|docs|benches|models|clients|firmware|packaging|calib|fuzz|examples"
        gone = []
        for page in (p for p in pages() if "lab" not in p.relative_to(ROOT).parts):
            for path in re.findall(rf"`((?:{tops})/[\w./-]+)`", page.read_text()):
                given_by_the_reader = re.search(r"\b[A-Z]{3,}\b", path)
                if (
                    not given_by_the_reader
                    and not any((of / path).exists() for of in (ROOT, page.parent))
                    and not ignored(path)
                ):
                    gone.append(f"{name_of(page)}: {path}")
        self.assertEqual(gone, [])

    def test_the_map_of_folders_is_whole(self) -> None:
        page = (ROOT / "docs/architecture.md").read_text()
        folders = [p for top in ("src", "crates") for p in (ROOT / top).iterdir() if p.is_dir()]
        missing = [name_of(f) for f in folders if f"`{name_of(f)}" not in page]
        self.assertEqual(missing, [], "not in the table of docs/architecture.md")

    def test_python_in_the_pages_is_python(self) -> None:
        for page in pages():
            for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
                with self.subTest(name_of(page)):
                    ast.parse(block)

    def test_python_packages_go_into_an_environment_and_the_own_one_comes_from_its_folder(self) -> None:
        listed = ["git", "ls-files", "*.md", "*.ipynb", "clients/*.py"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        wrong = []
        for name in names:
            text = (ROOT / name).read_text()
            if re.search(r"pip install [\"']?posewire", text):
                wrong.append(f"{name}: posewire is in no index: pip install ./clients/python")
            is_read_by_users = name.startswith(("docs/", "clients/python/")) and not name.endswith(".py")
            # Newer Debians keep pip out of the system's Python.
            if (
                is_read_by_users
                and "pip install" in text
                and not re.search(r"-m venv|/python\.md\)|\]\(python\.md\)", text)
            ):
                wrong.append(f"{name}: pip install without python3 -m venv, or a link to docs/python.md")
        self.assertEqual(wrong, [])

    def test_what_builds_a_package_is_what_the_release_installs(self) -> None:
        release = (ROOT / ".github/workflows/release.yml").read_text()
        installs = re.search(r"apt-get install -y --no-install-recommends ([\w\s-]+?)\n\s+- ", release)
        assert installs
        page = (ROOT / "docs/packages.md").read_text()
        self.assertEqual([name for name in installs[1].split() if name not in page], [])

    def test_every_place_of_unsafe_code_is_named(self) -> None:
        named = re.findall(r"^\| `([\w./-]+)` \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
        files = [
            f
            for top in ("src", "crates", "vendor")
            for f in (ROOT / top).rglob("src/**/*.rs" if top != "src" else "*.rs")
        ]
        unnamed = [
            name_of(f)
            for f in files
            if re.search(r"\bunsafe (?:\{|fn|impl)", f.read_text())
            and not any(name_of(f).startswith(n) for n in named)
        ]
        self.assertEqual(unnamed, [], "SECURITY.md says where memory could go wrong: name these files, too")

    def test_pages_are_short(self) -> None:
        long = [
            f"{name_of(p)}: {n} lines"
            for p in pages()
            if (n := len(p.read_text().splitlines())) > LONGEST_PAGE
        ]
        self.assertEqual(
            long, [], f"more than {LONGEST_PAGE} lines: split it, or move what was tried to docs/lab"
        )

    def test_every_page_is_in_the_index(self) -> None:
        for index in (
            ROOT / "docs/README.md",
            ROOT / "docs/lab/README.md",
            ROOT / "docs/decisions/README.md",
        ):
            linked = {
                (index.parent / target.split("#")[0]).resolve() for target in LINK.findall(index.read_text())
            }
            missing = [
                name_of(p) for p in index.parent.glob("*.md") if p != index and p.resolve() not in linked
            ]
            self.assertEqual(missing, [], f"not named by {name_of(index)}")

    def test_tables_are_what_was_kept(self) -> None:
        done = subprocess.run(
            [sys.executable, ROOT / "docs/make.py", "--check"], check=False, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @needs_posewire
    def test_every_example_is_understood(self) -> None:
        refused = []
        for page in (p for p in pages() if "lab" not in p.relative_to(ROOT).parts):
            for text in code_lines(page) + inline_code(page):
                for words in commands(text):
                    fine, why = understood(*words) if is_there(words[0]) else (True, "")
                    if not fine:
                        refused.append(f"{name_of(page)}: posewire {shlex.join(words)}\n    {why}")
        self.assertEqual(refused, [])

    @needs_posewire
    def test_every_flag_that_a_page_of_the_program_names_exists(self) -> None:
        about_the_program = [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")]
        unknown = []
        for page in about_the_program:
            for flag in QUOTED_FLAG.findall(page.read_text()):
                if flag not in flags() and flag not in OTHERS.get(page.name, ()):
                    unknown.append(f"{name_of(page)}: {flag}")
        self.assertEqual(unknown, [])


# Flags of other programs that a page names alone.
OTHERS: dict[str, tuple[str, ...]] = {
    "hub.md": ("--keep-room", "--stature", "--distance"),
    "hub-networks.md": ("--zenoh", "--zenoh-listen"),
    "python.md": ("--name", "--person", "--save"),
    "reliability.md": ("--show",),
    "sources.md": ("--metadata-format",),
}


if __name__ == "__main__":
    unittest.main()
