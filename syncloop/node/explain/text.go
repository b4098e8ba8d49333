package explain

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxText is the maximum length of a text from outside, in bytes.
const MaxText = 512

// sanitizeLine converts a text to one line of printable characters. It cuts a text of more than MaxText bytes
// and appends "...".
func sanitizeLine(text string) string {
	if strings.ContainsFunc(text, isUnprintable) || !utf8.ValidString(text) {
		text = replaceUnprintable(text)
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

// replaceUnprintable replaces each run of line breaks inside the text by "; ", other unprintable characters by
// spaces, and invalid UTF-8 by "?".
func replaceUnprintable(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if isUnprintable(r) {
			return ' '
		}
		return r
	}, text)
}

// isUnprintable reports whether a character is not printable. Such a character could move the cursor of a
// terminal.
func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// joinReasonAndMessage returns "reason: message" on one line, or only the reason if there is no message. It
// removes control characters from both.
func joinReasonAndMessage(reason, message string) string {
	if message == "" {
		return sanitizeLine(reason)
	}
	return sanitizeLine(reason) + ": " + sanitizeLine(message)
}

// formatFuture formats the time until an event as "in 5s", rounded up to seconds. It returns "now" if the time
// is not positive.
func formatFuture(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + (d + time.Second - 1).Truncate(time.Second).String()
}

// formatAgo formats the time since an event as "5s ago", rounded down to seconds.
func formatAgo(d time.Duration) string { return formatElapsed(d) + " ago" }

// formatElapsed formats a duration, rounded down to seconds. A negative duration is 0s.
func formatElapsed(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }

// String returns a page for people.
func (e Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.Sentence + "\n\n")
	fmt.Fprintf(&b, "pod       %s\nuid       %s\nphase     %s\n", e.Pod, e.UID, strings.TrimSuffix(joinReasonAndMessage(string(e.Phase)+" "+e.Reason, e.Message), " "))
	b.WriteString("worker    " + e.formatWorker() + "\n")
	if f := e.Fault; f != nil {
		fmt.Fprintf(&b, "manifest  fault of %s since %s (%s): %s; %s\n", f.Path, f.Since.UTC().Format(time.RFC3339), formatAgo(e.At.Sub(f.Since)), f.Reason, f.Effect)
	}
	if e.Next != nil {
		fmt.Fprintf(&b, "next      %s: %s\n", formatFuture(e.Next.At.Sub(e.At)), e.Next.Why)
	}
	e.writeSectionIfAny(&b, "waits for", len(e.Waits), func(i int) string { return e.Waits[i] })
	e.writeSectionIfAny(&b, "containers", len(e.Containers), func(i int) string { return e.Containers[i].formatWithRelativeTimes(e.At) })
	e.writeSectionIfAny(&b, "probes", len(e.Probes), func(i int) string { return e.Probes[i].formatResultAndDuration(e.At) })
	e.writeSectionIfAny(&b, "conditions", len(e.Conditions), func(i int) string {
		c := e.Conditions[i]
		return strings.TrimSuffix(joinReasonAndMessage(fmt.Sprintf("%s is %s %s", c.Type, c.Status, c.Reason), c.Message), " ")
	})
	e.writeSectionIfAny(&b, "history", len(e.History), func(i int) string { return e.History[i].formatWithAge(e.At) })
	return b.String()
}

// writeSectionIfAny writes an empty line, a title and n indented lines that item returns. It writes nothing if
// n is 0.
func (e *Explanation) writeSectionIfAny(b *strings.Builder, title string, n int, item func(int) string) {
	if n == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	for i := range n {
		b.WriteString("  " + item(i) + "\n")
	}
}

// formatWorker returns the phase of the worker. If they are known, the number of the pod among those that used
// the UID one after the other, and the worker's present step follow.
func (e *Explanation) formatWorker() string {
	s := e.Worker
	if e.Incarnation > 0 {
		s += fmt.Sprintf(", incarnation %d", e.Incarnation)
	}
	if e.Doing != "" {
		s += ", " + e.Doing
	}
	return s
}

// formatWithRelativeTimes returns the line about a container in the page of an Explanation, with times relative
// to now.
func (c *Container) formatWithRelativeTimes(now time.Time) string {
	s := fmt.Sprintf("%s %s: %s", c.Kind, c.Name, strings.TrimSpace(c.State+" "+c.Reason))
	if !c.Since.IsZero() {
		s += " for " + formatElapsed(now.Sub(c.Since))
	}
	if c.State == "running" {
		s += fmt.Sprintf(", started %t, ready %t", c.Started, c.Ready)
	}
	if c.Restarts > 0 {
		s += fmt.Sprintf(", restarts %d", c.Restarts)
	}
	if !c.NotBefore.IsZero() {
		s += ", next try " + formatFuture(c.NotBefore.Sub(now))
	}
	if c.LastEnd != nil {
		s += ", last end: " + c.LastEnd.String()
		if !c.LastEnd.At.IsZero() {
			s += " " + formatAgo(now.Sub(c.LastEnd.At))
		}
	}
	if c.Message != "" && (c.LastEnd == nil || c.LastEnd.Message != c.Message) {
		s += ": " + c.Message
	}
	return s
}

// formatResultAndDuration returns the line about a probe result in the page of an Explanation. It contains the
// kind, the container, whether the probe succeeds or fails, for how long it has had this result, and the
// message. A result without a time has no duration.
func (p *Probe) formatResultAndDuration(now time.Time) string {
	verdict := "fails"
	if p.Success {
		verdict = "succeeds"
	}
	s := fmt.Sprintf("%s of %s %s", p.Kind, p.Container, verdict)
	if !p.At.IsZero() {
		s += " for " + formatElapsed(now.Sub(p.At))
	}
	return joinReasonAndMessage(s, p.Message)
}

// formatWithAge returns the line about a history entry in the page of an Explanation, with its age.
func (e *Entry) formatWithAge(now time.Time) string {
	s := fmt.Sprintf("%8s  %-6s  %s", formatAgo(now.Sub(e.At)), e.What, e.Text)
	if e.Times > 1 {
		s += fmt.Sprintf(" (%d times)", e.Times)
	}
	if e.Err != "" {
		s += ": " + e.Err
	}
	return s
}
