package environ

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// expandReferences returns the text with each $(NAME) replaced by the value of the variable, and each $$ by $.
// Unknown names stay as they are; reportUnknown, if not nil, is called with each. It subtracts the length of
// the result from budget, and returns an error if budget becomes negative.
func expandReferences(text string, lookup func(string) (string, bool), budget *int, reportUnknown func(string)) (string, error) {
	var b strings.Builder
	write := func(s string) bool {
		*budget -= len(s)
		b.WriteString(s)
		return *budget >= 0
	}
	for text != "" {
		plain, name, rest := cutAtDollar(text)
		ok := write(plain)
		if name != "" && ok {
			value, known := lookup(name)
			if !known {
				value = "$(" + name + ")"
				if reportUnknown != nil {
					reportUnknown(name)
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

// cutAtDollar cuts a text at its first "$". For a reference $(NAME), plain is the text before it, name is NAME,
// and rest is the text after it. In all other cases name is empty, and plain includes the "$", with $$ reduced
// to one "$".
func cutAtDollar(text string) (plain, name, rest string) {
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

// ExpandStatic replaces references in the command of an exec probe by the literal values of the spec. A
// probe does not know values of objects. If the result is too long, it returns the command unchanged.
// Commands of hooks are never expanded.
func ExpandStatic(command []string, env []v1.EnvVar) []string {
	values := make(map[string]string, len(env))
	for i := range env {
		values[env[i].Name] = env[i].Value
	}
	left := MaxBytes
	out, err := expandWords(command, func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}, &left)
	if err != nil {
		return command
	}
	return out
}

// expandWords returns the words with their references expanded, or nil for nil. It subtracts the length of the
// results from budget. It returns an error if the budget is exceeded or a result contains a NUL byte.
func expandWords(words []string, lookup func(string) (string, bool), budget *int) ([]string, error) {
	if words == nil {
		return nil, nil
	}
	out := make([]string, len(words))
	for i, word := range words {
		var err error
		if out[i], err = expandReferences(word, lookup, budget, nil); err == nil {
			err = checkNoNUL(out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return out, nil
}
