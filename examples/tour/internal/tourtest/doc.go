// Package tourtest runs the programs of the tour in virtual time and compares their outputs with the documented ones.
package tourtest
