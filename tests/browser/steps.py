"""Steps of an author in the browser, for the stories of this folder."""

from playwright.sync_api import Page, expect

BUSY = ", ".join(f'[data-testid="st{name}"]' for name in ("Spinner", "Skeleton")) + ", [data-stale=true]"


def say_name(page: Page, name: str) -> None:
    """Come back with a name that this browser remembers from another day."""
    page.evaluate("name => localStorage.setItem('entail.author', name)", name)
    page.reload()
    expect(page.get_by_text("Not you?")).to_be_attached()


def settle(page: Page) -> None:
    """Wait until nothing on the page is old or on its way."""
    page.wait_for_timeout(250)  # a run may follow another, and the theme is told to the server
    expect(page.locator('.stApp[data-test-script-state="notRunning"]')).to_be_attached()
    expect(page.locator(BUSY)).to_have_count(0)
