// Package page draws timelines of pods as one HTML page (experimental).
//
//	p := page.Draw("TestWeb", drawing)
//	os.WriteFile("web.html", p.HTML, 0o644)
//
// It is pure. The page is one file that contains its style and its script. Its
// Content-Security-Policy allows them by their hashes and forbids everything else, including requests
// to any address. Page.Policy is the same policy for an HTTP header. All texts are escaped. Colours
// follow the reader's choice of light or dark.
//
// Each bar is a button with a name that a screen reader can read. With the keyboard:
//
//	left, right   the previous and the next bar of the lane
//	up, down      the nearest bar of the lane above and below
//	Home, End     the first and the last bar of the lane
//	+ - 0         zoom in, out, and back
//	Escape        close the details
//
// A bar that has the focus, or is under the mouse, shows its details at the bottom of the page.
// Without a script the details are the tooltip of the bar.
//
// Package html escapes the texts. The page has a fixed form that authors do not change, so it needs no
// template language.
package page
