// Package long says too much.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
//
// And more.
package long
