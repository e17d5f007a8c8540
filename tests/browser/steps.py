"""Steps of an author in the browser, for the stories of this folder."""

from playwright.sync_api import Page, expect


def say_name(page: Page, name: str) -> None:
    """Come back with a name that this browser remembers from another day."""
    page.evaluate("name => localStorage.setItem('entail.author', name)", name)
    page.reload()
    expect(page.get_by_text("Not you?")).to_be_attached()
