// Package keylock has a lock for each of any number of keys, such as the UIDs of pods. A
// key that is not locked uses no memory.
package keylock
