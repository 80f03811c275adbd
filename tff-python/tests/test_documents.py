"""What is shown to users runs: the README, the examples and the notebooks."""

import re
import subprocess
import sys

import nbclient
import nbformat
import pytest

from conftest import ROOT

BLOCKS = [
    block
    for path in (ROOT / "README.md", ROOT / "tff-python" / "README.md")
    for block in re.findall(r"```python\n(.*?)```", path.read_text(), re.S)
]
EXAMPLES = ROOT / "examples" / "python"


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_readmes(block, tmp_path):
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for line, shown in re.findall(r"print\((.*)\)  # (.*)", block):
        assert shown in done.stdout.splitlines(), line


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("federated_language_unchanged.py", r"^70\.375$"),
        ("digits_jax.py", r"'accuracy': 0\.(8|9)"),
        ("digits_ray.py", r"\n5 .*slowest part"),
        ("scikit_learn.py", r"\n10 +0\.(8|9)"),
    ],
)
def test_examples(name, shown):
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and re.search(shown, done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks(path):
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are kept without what they print"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
