package page

import (
	"fmt"
	"html"
	"strings"
)

// markup writes a page. A template would be shorter, but package html/template calls methods by name. The
// linker then keeps all methods of all types, which is 4 MB of an agent.
type markup struct{ strings.Builder }

// verbatim is markup, style or script of this package, which must not be escaped.
type verbatim string

// writeEscaped writes a format with its values, which are escaped for HTML unless they are verbatim. Escaped
// values may stand between tags and in quoted attributes.
func (m *markup) writeEscaped(format string, values ...any) {
	for i, value := range values {
		if _, ok := value.(verbatim); !ok {
			values[i] = html.EscapeString(strings.ReplaceAll(fmt.Sprint(value), "\x00", "\uFFFD"))
		}
	}
	fmt.Fprintf(m, format, values...)
}

// writePage writes the whole page.
func (m *markup) writePage(v *view) {
	m.writeHead(v)
	m.WriteString("<main>")
	for i := range v.Pods {
		m.writePod(&v.Pods[i], v.Ticks)
	}
	if len(v.Pods) == 0 {
		m.WriteString("\n<p>Nothing was recorded.</p>")
	}
	m.WriteString("\n</main>\n")
	m.writeFoot(v)
}

// writeHead writes the head and the header of the page.
func (m *markup) writeHead(v *view) {
	m.writeEscaped(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%v">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%v</title>
<style>%v</style>
<style>%v</style>
</head>
`, v.Policy, v.Title, v.Style, v.Places)
	m.writeEscaped(`<body>
<header>
<div>
<h1>%v</h1>
<p>%v to %v</p>
</div>
<div class="zoom" role="group" aria-label="Zoom">
<button type="button" id="out" aria-label="Zoom out" title="Zoom out (-)">&minus;</button>
<button type="button" id="fit" aria-label="Show everything" title="Show everything (0)">Fit</button>
<button type="button" id="in" aria-label="Zoom in" title="Zoom in (+)">+</button>
</div>
</header>
`, v.Title, v.From, v.To)
}

// writePod writes the chart of one pod.
func (m *markup) writePod(p *pod, ticks []tick) {
	name := p.Name
	if name == "" {
		name = "a pod without a status"
	}
	m.writeEscaped("\n<section aria-labelledby=\"p%v\">\n<h2 id=\"p%v\">%v", p.ID, p.ID, name)
	if p.Dropped != 0 {
		m.writeEscaped(" <small>%v earlier records are missing</small>", p.Dropped)
	}
	m.WriteString(`</h2>
<div class="chart">
<div class="canvas">
<div class="lane axis" aria-hidden="true"><div class="name"></div><div class="track"></div></div>`)
	for i := range p.Lanes {
		m.writeLane(&p.Lanes[i])
	}
	m.WriteString("\n<div class=\"grid\">")
	for _, t := range ticks {
		m.writeEscaped("\n<div class=\"tick level%v t%v\"><span>%v</span></div>", t.Level, t.ID, t.Label)
	}
	for _, at := range p.Marks {
		m.writeEscaped("\n<div class=\"mark\" id=\"m%v\"><span>%v</span></div>", at.ID, at.Label)
	}
	m.WriteString("\n</div>\n</div>\n</div>\n</section>")
}

// writeLane writes a lane with its bars.
func (m *markup) writeLane(l *lane) {
	m.writeEscaped("\n<div class=\"lane %v\" id=\"l%v\" role=\"group\" aria-label=\"%v %v\">", l.Kind, l.ID, l.Kind, l.Name)
	m.writeEscaped("<div class=\"name\" title=\"%v\">%v</div><div class=\"track\">", l.Kind, l.Name)
	for i := range l.Bars {
		b := &l.Bars[i]
		m.writeEscaped("\n<button type=\"button\" class=\"bar %v%v%v\" id=\"b%v\" tabindex=\"-1\" ", b.Class, b.Point, b.Open, b.ID)
		m.writeEscaped("aria-label=\"%v\" title=\"%v\" data-title=\"%v\" data-span=\"%v\" data-details=\"%v\">", b.Spoken, b.Spoken, b.Title, b.Span, b.Details)
		m.writeEscaped("<span>%v</span></button>", b.Label)
	}
	m.WriteString("\n</div></div>")
}

// writeFoot writes the legend, the details and the script.
func (m *markup) writeFoot(v *view) {
	m.WriteString("<footer>\n<ul class=\"legend\" aria-label=\"Colours\">")
	for _, class := range v.Legend {
		m.writeEscaped("<li><span class=\"bar %v\"></span>%v</li>", class, class)
	}
	m.writeEscaped(`</ul>
<p>Arrow keys move between bars, + and &minus; zoom, 0 shows everything.</p>
</footer>
<aside id="details" role="status" aria-live="polite" hidden><strong></strong><em></em><p></p></aside>
<script>%v</script>
</body>
</html>
`, v.Script)
}
