// Package page draws timelines of pods as one HTML page (experimental).
//
//	p := page.Draw("TestWeb", drawing)
//	os.WriteFile("web.html", p.HTML, 0o644)
//
// It is pure. The page is one file: its style and its script are in it, and a
// Content-Security-Policy in it, which Page.Policy repeats, names them by their hashes and forbids
// everything else, requests to any address included. All texts are escaped. Colours follow the
// reader's choice of light or dark.
//
// Each bar is a button with a name that a screen reader can read. With the keyboard:
//
//	left, right   the bar before and the one after it, in its lane
//	up, down      the nearest bar of the lane above and below
//	Home, End     the first and the last bar of the lane
//	+ - 0         zoom in, out, and back
//	Escape        close the details
//
// A bar that has the focus, or is under the mouse, shows its details at the bottom of the page.
// Without a script the details are the tooltip of the bar.
//
// Package html escapes the texts. The page has one form and no conditions for an author to change, so
// no template language is used.
package page
