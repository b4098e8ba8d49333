// Package good says what it is for, where it should.
package good
