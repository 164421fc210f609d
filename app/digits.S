// The bytes of data/digits.csv.gz, between two symbols.
        .section .rodata
        .global coterie_digits_begin
        .global coterie_digits_end
        .balign 16
coterie_digits_begin:
        .incbin "digits.csv.gz"
coterie_digits_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
