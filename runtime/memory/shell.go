package memory

import "strings"

// shellCommand is a simple command.
type shellCommand struct {
	argv     []string
	toStderr bool   // by >&2
	toNull   bool   // by >/dev/null
	after    string // && or ||, which stands before it
}

// shellCommands splits the text of a shell into commands and these into words,
// up to the first whose meaning is not plain; it reports whether there was
// none. Plain are words, quotes without anything to expand in them, semicolons,
// line ends, && and ||, >&2 and >/dev/null.
func shellCommands(text string) (commands []shellCommand, whole bool) {
	s := shellText{rest: text}
	for after := ""; ; {
		c, ok := s.command()
		next := s.operator()
		if !ok || len(c.argv) == 0 && after+next != "" {
			return commands, false
		}
		if c.after = after; len(c.argv) > 0 {
			commands = append(commands, c)
		}
		if s.rest == "" {
			return commands, next == ""
		}
		if after = next; next == "" {
			s.rest = s.rest[1:] // what ended the command
		}
	}
}

// rowOf is shellCommands up to the first command on which another depends, or that is not heard.
func rowOf(text string) (commands []shellCommand, whole bool) {
	commands, whole = shellCommands(text)
	for i, c := range commands {
		if c.toNull || i+1 < len(commands) && commands[i+1].after != "" {
			return commands[:i], false
		}
	}
	return commands, whole
}

// operator takes && or || off, if one of them comes next.
func (s *shellText) operator() string {
	for _, op := range []string{"&&", "||"} {
		if after, ok := strings.CutPrefix(s.rest, op); ok {
			s.rest = after
			return op
		}
	}
	return ""
}

// shellText is what is left to read.
type shellText struct{ rest string }

// command reads up to a semicolon, a line end, an operator or the end.
func (s *shellText) command() (c shellCommand, ok bool) {
	for s.rest != "" {
		switch next := s.rest[0]; {
		case next == ';' || next == '\n', strings.HasPrefix(s.rest, "&&"), strings.HasPrefix(s.rest, "||"):
			return c, true
		case next == ' ' || next == '\t':
			s.rest = s.rest[1:]
		case s.takes(">&2"):
			c.toStderr = true
		case s.takes(">/dev/null"):
			c.toNull = true
		default:
			word, ok := s.word()
			if !ok {
				return c, false
			}
			c.argv = append(c.argv, word)
		}
	}
	return c, true
}

// takes takes a word off, if it comes next.
func (s *shellText) takes(word string) bool {
	after, ok := strings.CutPrefix(s.rest, word)
	if ok = ok && (after == "" || strings.IndexByte(wordEnds, after[0]) >= 0); ok {
		s.rest = after
	}
	return ok
}

const (
	wordEnds   = " \t\n;"
	notPlain   = "$`\\&|<>()*?[]{}~#!"
	notInQuote = "$`\\"
)

// word reads one word and takes its quotes off.
func (s *shellText) word() (word string, ok bool) {
	var b strings.Builder
	for s.rest != "" && strings.IndexByte(wordEnds, s.rest[0]) < 0 {
		c := s.rest[0]
		if c != '\'' && c != '"' {
			if strings.IndexByte(notPlain, c) >= 0 {
				return "", false
			}
			b.WriteByte(c)
			s.rest = s.rest[1:]
			continue
		}
		quoted, after, closed := strings.Cut(s.rest[1:], string(c))
		if !closed || c == '"' && strings.ContainsAny(quoted, notInQuote) {
			return "", false
		}
		b.WriteString(quoted)
		s.rest = after
	}
	return b.String(), true
}
