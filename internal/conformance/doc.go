// Package conformance is what the conformance kits of this module share: how a case fails, is skipped and stops. A kit
// has its own Case, Harness and Cases. Its cases run on a type that embeds Bench. The signatures of a kit contain
// testing.TB. A caller that is no test embeds a nil testing.TB and implements the methods of T, because a kit calls no
// others.
package conformance
