package explain

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxText is the most bytes of a text from outside.
const MaxText = 512

// line makes one line of a text: what would move a cursor is left out, and what
// is too long is cut.
func line(text string) string {
	if strings.ContainsFunc(text, odd) || !utf8.ValidString(text) {
		text = plainLine(text)
	}
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

func plainLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if odd(r) {
			return ' '
		}
		return r
	}, text)
}

func odd(r rune) bool { return !unicode.IsPrint(r) }

// because joins a reason with its message, if there is one.
func because(reason, message string) string {
	if message == "" {
		return line(reason)
	}
	return line(reason) + ": " + line(message)
}

// in is a time to come; begun seconds count.
func in(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + (d + time.Second - 1).Truncate(time.Second).String()
}

func ago(d time.Duration) string { return span(d) + " ago" }

// span is a time that is past; whole seconds count.
func span(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }

// String is a page for people.
func (e Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.Sentence + "\n\n")
	fmt.Fprintf(&b, "pod       %s\nuid       %s\nphase     %s\n", e.Pod, e.UID, strings.TrimSuffix(because(string(e.Phase)+" "+e.Reason, e.Message), " "))
	b.WriteString("worker    " + e.worker() + "\n")
	if f := e.Fault; f != nil {
		fmt.Fprintf(&b, "manifest  trouble with %s since %s (%s): %s; %s\n", f.Path, f.Since.UTC().Format(time.RFC3339), ago(e.At.Sub(f.Since)), f.Reason, f.Effect)
	}
	if e.Next != nil {
		fmt.Fprintf(&b, "next      %s: %s\n", in(e.Next.At.Sub(e.At)), e.Next.Why)
	}
	e.section(&b, "waits for", len(e.Waits), func(i int) string { return e.Waits[i] })
	e.section(&b, "containers", len(e.Containers), func(i int) string { return e.Containers[i].text(e.At) })
	e.section(&b, "probes", len(e.Probes), func(i int) string { return e.Probes[i].text(e.At) })
	e.section(&b, "conditions", len(e.Conditions), func(i int) string {
		c := e.Conditions[i]
		return strings.TrimSuffix(because(fmt.Sprintf("%s is %s %s", c.Type, c.Status, c.Reason), c.Message), " ")
	})
	e.section(&b, "history", len(e.History), func(i int) string { return e.History[i].text(e.At) })
	return b.String()
}

func (e *Explanation) section(b *strings.Builder, title string, n int, item func(int) string) {
	if n == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	for i := range n {
		b.WriteString("  " + item(i) + "\n")
	}
}

func (e *Explanation) worker() string {
	s := e.Worker
	if e.Incarnation > 0 {
		s += fmt.Sprintf(", incarnation %d", e.Incarnation)
	}
	if e.Doing != "" {
		s += ", " + e.Doing
	}
	return s
}

func (c *Container) text(now time.Time) string {
	s := fmt.Sprintf("%s %s: %s", c.Kind, c.Name, strings.TrimSpace(c.State+" "+c.Reason))
	if !c.Since.IsZero() {
		s += " for " + span(now.Sub(c.Since))
	}
	if c.State == "running" {
		s += fmt.Sprintf(", started %t, ready %t", c.Started, c.Ready)
	}
	if c.Restarts > 0 {
		s += fmt.Sprintf(", restarts %d", c.Restarts)
	}
	if !c.NotBefore.IsZero() {
		s += ", next try " + in(c.NotBefore.Sub(now))
	}
	if c.LastEnd != nil {
		s += ", last end: " + c.LastEnd.String()
		if !c.LastEnd.At.IsZero() {
			s += " " + ago(now.Sub(c.LastEnd.At))
		}
	}
	if c.Message != "" && (c.LastEnd == nil || c.LastEnd.Message != c.Message) {
		s += ": " + c.Message
	}
	return s
}

func (p *Probe) text(now time.Time) string {
	verdict := "fails"
	if p.Success {
		verdict = "succeeds"
	}
	s := fmt.Sprintf("%s of %s %s", p.Kind, p.Container, verdict)
	if !p.At.IsZero() {
		s += " for " + span(now.Sub(p.At))
	}
	return because(s, p.Message)
}

func (e *Entry) text(now time.Time) string {
	s := fmt.Sprintf("%8s  %-6s  %s", ago(now.Sub(e.At)), e.What, e.Text)
	if e.Times > 1 {
		s += fmt.Sprintf(" (%d times)", e.Times)
	}
	if e.Err != "" {
		s += ": " + e.Err
	}
	return s
}
