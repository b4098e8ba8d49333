// Package errtree walks trees of errors: those of package errors, and the Aggregate of
// k8s.io/apimachinery, which errors.As does not unwrap.
package errtree
