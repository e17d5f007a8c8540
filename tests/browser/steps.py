"""What an author does in the browser, as the stories of this folder tell it."""

from playwright.sync_api import Page, expect


def say_name(page: Page, name: str) -> None:
    """Come back with a name that this browser remembers from another day."""
    page.evaluate("name => localStorage.setItem('entail.author', name)", name)
    page.reload()
    expect(page.get_by_text("Not you?")).to_be_attached()
