// Package keylock provides a lock per key, for example per pod UID. A key that is not locked uses
// no memory.
package keylock
