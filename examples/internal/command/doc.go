// Package command has the parts that the example programs share: start and exit, flags with cobra, suggestions for
// misspelled words, escaping of text for terminals, and facts about the machine.
package command
