"""Plain data that renderers show: sections, tables, charts."""
