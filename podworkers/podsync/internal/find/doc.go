// Package find reads the objects that pods refer to, for the packages that make
// environments and volumes of them.
package find
