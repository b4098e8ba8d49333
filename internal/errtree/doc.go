// Package errtree walks trees of errors: those that package errors knows, and the
// Aggregate of k8s.io/apimachinery, into which errors.As does not look.
package errtree
