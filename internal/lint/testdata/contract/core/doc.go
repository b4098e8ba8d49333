// Package core keeps B-001, as go doc should not say.
package core
