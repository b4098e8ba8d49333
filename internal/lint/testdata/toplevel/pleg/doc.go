// Package pleg belongs here.
package pleg
