// Package command has what the programs have in common: how they begin and end, how they read
// their flags with cobra, what a wrong word was meant to be, how text of others is shown, and what they
// say of the machine.
package command
