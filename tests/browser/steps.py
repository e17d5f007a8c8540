"""What an author does in the browser, as the stories of this folder tell it."""

from playwright.sync_api import Page, expect


def say_name(page: Page, name: str) -> None:
    """Say who is at work, in the sidebar, and wait until it was heard."""
    field = page.get_by_role("textbox", name="Your name")
    field.fill(name)
    field.press("Enter")
    expect(page.get_by_text("Not you?")).to_be_visible()
