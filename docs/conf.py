"""The site: `make docs` builds it into `build/site`. Nothing is fetched, and every warning is an error."""

import sys
from pathlib import Path

import gramian

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "Gramian"
author = "The Gramian developers"
copyright = author
version = release = gramian.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "generated_pages",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
default_role = "code"  # in docstrings, names stand in single backticks
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"

html_extra_path = ["reference/llms.txt"]  # written by generated_pages
html_theme = "pydata_sphinx_theme"
html_title = "Gramian"
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"serve_",  # a service, which docs/production.md starts
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("gramian",),
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": "True",
}
