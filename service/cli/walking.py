"""A lineage walk on the command line: all its pages up to a limit, as a tree or as numbers, with its receipt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from graph.access import Caller
from graph.lineage.model import CompletenessReceipt, Direction, LineageItem
from graph.lineage.walk import Lineage
from graph.records.read import TombstoneView, read_record
from graph.vocabulary import EdgeType
from service.bootstrap import Application
from service.cli.documents import document_of
from service.cli.tables import fields, grid
from service.cli.trees import Branch, tree_of
