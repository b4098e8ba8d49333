// Package loop has a stair that it does not use.
package loop
