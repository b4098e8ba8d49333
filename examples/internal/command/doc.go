// Package command has what the programs have in common: how they begin and end, how they read
// their flags, what a wrong word was meant to be, and how text of others is shown.
package command
