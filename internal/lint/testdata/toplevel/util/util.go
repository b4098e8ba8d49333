// Package util belongs nowhere.
package util
