package environ

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// expand replaces references in a text, and counts what it writes down from
// the bytes that are left. unknown, if there is one, gets the names to which
// lookup has no answer; their references are left as they are.
func expand(text string, lookup func(string) (string, bool), left *int, unknown func(string)) (string, error) {
	var b strings.Builder
	write := func(s string) bool {
		*left -= len(s)
		b.WriteString(s)
		return *left >= 0
	}
	for text != "" {
		plain, name, rest := next(text)
		ok := write(plain)
		if name != "" && ok {
			value, known := lookup(name)
			if !known {
				value = "$(" + name + ")"
				if unknown != nil {
					unknown(name)
				}
			}
			ok = write(value)
		}
		if !ok {
			return "", ErrTooLarge
		}
		text = rest
	}
	return b.String(), nil
}

// next cuts a text after its first reference: what stands before it, as it is
// meant to be read, the name, and what comes after. An empty name refers to
// nothing.
func next(text string) (plain, name, rest string) {
	i := strings.IndexByte(text, '$')
	if i < 0 || i+1 == len(text) {
		return text, "", ""
	}
	after := text[i+2:]
	switch text[i+1] {
	case '$':
		return text[:i+1], "", after
	case '(':
		name, rest, closed := strings.Cut(after, ")")
		if closed && name != "" {
			return text[:i], name, rest
		}
	}
	return text[:i+2], "", after
}

// ExpandStatic replaces references in the command of an exec probe by the
// literal values of the spec, as they are written there: a probe knows nothing
// that has to be looked up. The commands of hooks are not expanded at
// all. Too long a result is the command as it was.
func ExpandStatic(command []string, env []v1.EnvVar) []string {
	values := make(map[string]string, len(env))
	for i := range env {
		values[env[i].Name] = env[i].Value
	}
	left := MaxBytes
	out, err := words(command, func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}, &left)
	if err != nil {
		return command
	}
	return out
}

// words expands each word of a command.
func words(in []string, lookup func(string) (string, bool), left *int) ([]string, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]string, len(in))
	for i, word := range in {
		var err error
		if out[i], err = expand(word, lookup, left, nil); err == nil {
			err = plain(out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}
