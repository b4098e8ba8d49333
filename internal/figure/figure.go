package figure

import (
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Colours and fonts that several figures share.
const (
	// Paper is a light background.
	Paper = "#ffffff"
	// Ink is the colour of text on Paper.
	Ink = "#1c2128"
	// Dim is the colour of arrows, and of text that matters less.
	Dim = "#5b6470"
	// border is the colour of the edge of each figure.
	border = "#d0d7de"
	// Mono is the attribute of DrawText for a font whose characters have one width.
	Mono = `font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"`
	// sans is the font of all other text.
	sans = `font-family="system-ui,Segoe UI,Roboto,Liberation Sans,DejaVu Sans,sans-serif"`
)

// Point is a place in a figure: X from the left edge, Y from the top.
type Point struct{ X, Y int }

// Figure is an SVG drawing. New makes one. It must not be used concurrently.
type Figure struct {
	width, height int
	title, back   string
	body          strings.Builder
}

// New returns an empty figure with a title for screen readers and a background colour.
func New(width, height int, title, back string) *Figure {
	return &Figure{width: width, height: height, title: title, back: back}
}

// DrawBox draws a rectangle with round corners.
func (p *Figure) DrawBox(x, y, width, height int, fill, edge string) {
	fmt.Fprintf(&p.body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" fill=\"%s\" stroke=\"%s\"/>\n", x, y, width, height, fill, edge)
}

// DrawText draws one line of text. attributes are further attributes of the SVG element, such as the size.
func (p *Figure) DrawText(x, y int, colour, text, attributes string) {
	fmt.Fprintf(&p.body, "<text x=\"%d\" y=\"%d\" fill=\"%s\" %s>%s</text>\n", x, y, colour, attributes, escapeXML(text))
}

// DrawArrow draws a line through the points, with a head at the last one.
func (p *Figure) DrawArrow(colour string, points ...Point) {
	var list []string
	for _, point := range points {
		list = append(list, fmt.Sprintf("%d,%d", point.X, point.Y))
	}
	fmt.Fprintf(&p.body, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" marker-end=\"url(#head)\"/>\n", strings.Join(list, " "), colour)
}

// DrawLine draws a thin line from one point to another.
func (p *Figure) DrawLine(colour string, from, to Point) {
	fmt.Fprintf(&p.body, "<path d=\"M%d %dL%d %d\" stroke=\"%s\"/>\n", from.X, from.Y, to.X, to.Y, colour)
}

// String returns the SVG file.
func (p *Figure) String() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" %s font-size="13">
<title>%s</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="%s"/></marker></defs>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>
%s</svg>
`, p.width, p.height, p.width, p.height, sans, escapeXML(p.title), Dim, p.width-1, p.height-1, p.back, border, p.body.String())
}

// AssertFile fails the test unless the file has this figure. With the test flag -rewrite it writes the file first. The
// test or a package that it imports, such as datadriven, defines the flag.
func AssertFile(t *testing.T, file string, p *Figure) {
	t.Helper()
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(p.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != p.String() {
		t.Errorf("%s differs from the drawing: run this test with -rewrite and look at the figure", filepath.Base(file))
	}
}

// escapeXML returns text for the content of an XML element.
func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // A strings.Builder returns no error.
	return b.String()
}
