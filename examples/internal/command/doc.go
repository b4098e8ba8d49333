// Package command has what the programs have in common that join nodes to a cluster: how they
// begin and end, and how they read their flags.
package command
