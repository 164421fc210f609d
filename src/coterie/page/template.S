// The bytes of page/page.html, between two symbols.
        .section .rodata
        .global coterie_page_begin
        .global coterie_page_end
        .balign 16
coterie_page_begin:
        .incbin "page.html"
coterie_page_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
