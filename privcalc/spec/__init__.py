"""The specification language: text and JSON to trees and back. Standard library only."""
