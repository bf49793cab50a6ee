"""The JSON twin of the text: strict reading, typed values, trees to objects and back.

Start with `form.py`. Imported by `spec/read.py` and the schema.
"""
