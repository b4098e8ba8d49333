// Package conformance is what the conformance kits of this module share: how a case fails, is
// skipped and ends. A kit has its own Case, Harness and Cases, and its cases run on a type that
// embeds Bench. The signatures of a kit show testing.TB: a caller that is no test embeds a nil
// one and implements the methods of T, because a kit calls no others.
package conformance
