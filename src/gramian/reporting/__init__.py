"""A report on moments, fitted models and rows: a summary as plain data, then its rendering as one HTML file."""

from gramian.reporting.report import Report, report, summary

__all__ = ["Report", "report", "summary"]
