package memory

import "strings"

// shellCommand is a simple command.
type shellCommand struct {
	argv     []string
	toStderr bool   // with >&2
	toNull   bool   // with >/dev/null
	after    string // the operator before it: && or ||
}

// parseShellCommands splits the text of a shell into simple commands. It understands words, quotes without
// expansion, semicolons, line breaks, && and ||, >&2 and >/dev/null. It stops at the first command with any
// other syntax, and complete is then false.
func parseShellCommands(text string) (commands []shellCommand, complete bool) {
	s := shellParser{rest: text}
	for after := ""; ; {
		c, ok := s.parseCommand()
		next := s.consumeOperator()
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
			s.rest = s.rest[1:] // the separator
		}
	}
}

// parseUnconditionalCommands parses the commands at the beginning of a shell text whose output and effect do
// not depend on exit codes. It stops before a command with >/dev/null and before a command that && or || joins
// to the next. complete is false if text remains.
func parseUnconditionalCommands(text string) (commands []shellCommand, complete bool) {
	commands, complete = parseShellCommands(text)
	for i, c := range commands {
		if c.toNull || i+1 < len(commands) && commands[i+1].after != "" {
			return commands[:i], false
		}
	}
	return commands, complete
}

// consumeOperator removes && or || from the front of the text and returns it. It returns "" if the text begins
// with neither.
func (s *shellParser) consumeOperator() string {
	for _, op := range []string{"&&", "||"} {
		if after, ok := strings.CutPrefix(s.rest, op); ok {
			s.rest = after
			return op
		}
	}
	return ""
}

// shellParser splits the text of a shell.
type shellParser struct{ rest string }

// parseCommand parses one shell command up to a semicolon, a line break, && or ||, or the end of the text. ok
// is false if the syntax is not supported.
func (s *shellParser) parseCommand() (c shellCommand, ok bool) {
	for s.rest != "" {
		switch next := s.rest[0]; {
		case next == ';' || next == '\n', strings.HasPrefix(s.rest, "&&"), strings.HasPrefix(s.rest, "||"):
			return c, true
		case next == ' ' || next == '\t':
			s.rest = s.rest[1:]
		case s.consumeWord(">&2"):
			c.toStderr = true
		case s.consumeWord(">/dev/null"):
			c.toNull = true
		default:
			word, ok := s.parseWord()
			if !ok {
				return c, false
			}
			c.argv = append(c.argv, word)
		}
	}
	return c, true
}

// consumeWord removes word from the front of the text. It returns false, and removes nothing, if the text does
// not begin with that whole word.
func (s *shellParser) consumeWord(word string) (consumed bool) {
	after, ok := strings.CutPrefix(s.rest, word)
	if ok = ok && (after == "" || strings.IndexByte(wordDelimiters, after[0]) >= 0); ok {
		s.rest = after
	}
	return ok
}

const (
	wordDelimiters      = " \t\n;"
	unsupportedChars    = "$`\\&|<>()*?[]{}~#!"
	unsupportedInQuotes = "$`\\"
)

// parseWord removes one word from the front of the text and returns it without its quotes. ok is false if a
// character or quote is not supported.
func (s *shellParser) parseWord() (word string, ok bool) {
	var b strings.Builder
	for s.rest != "" && strings.IndexByte(wordDelimiters, s.rest[0]) < 0 {
		c := s.rest[0]
		if c != '\'' && c != '"' {
			if strings.IndexByte(unsupportedChars, c) >= 0 {
				return "", false
			}
			b.WriteByte(c)
			s.rest = s.rest[1:]
			continue
		}
		quoted, after, closed := strings.Cut(s.rest[1:], string(c))
		if !closed || c == '"' && strings.ContainsAny(quoted, unsupportedInQuotes) {
			return "", false
		}
		b.WriteString(quoted)
		s.rest = after
	}
	return b.String(), true
}
