// Package pleg generates pod lifecycle events: it observes a runtime, keeps the
// newest status of every pod, and says which pods have changed.
package pleg
