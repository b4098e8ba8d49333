package memory

import "strings"

// shellCommand is a simple command.
type shellCommand struct {
	argv     []string
	toStderr bool // by >&2
}

// shellCommands splits the text of a shell into commands and these into words,
// up to the first whose meaning is not plain; it reports whether there was
// none. Plain are words, quotes without anything to expand in them, semicolons,
// line ends, and >&2.
func shellCommands(text string) (commands []shellCommand, whole bool) {
	s := shellText{rest: text}
	for {
		c, ok := s.command()
		if !ok {
			return commands, false
		}
		if len(c.argv) > 0 {
			commands = append(commands, c)
		}
		if s.rest == "" {
			return commands, true
		}
		s.rest = s.rest[1:] // what ended the command
	}
}

// shellText is what is left to read.
type shellText struct{ rest string }

// command reads up to a semicolon, a line end or the end.
func (s *shellText) command() (c shellCommand, ok bool) {
	for s.rest != "" {
		switch next := s.rest[0]; {
		case next == ';' || next == '\n':
			return c, true
		case next == ' ' || next == '\t':
			s.rest = s.rest[1:]
		case s.toStderr():
			s.rest = s.rest[len(toStderr):]
			c.toStderr = true
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

const toStderr = ">&2"

// toStderr reports whether a word that sends output to stderr comes next.
func (s *shellText) toStderr() bool {
	after, ok := strings.CutPrefix(s.rest, toStderr)
	return ok && (after == "" || strings.IndexByte(wordEnds, after[0]) >= 0)
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
